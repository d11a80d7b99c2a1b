"""The leaderboard on DynamoDB: boards, scores, ranks. Knows nothing of GraphQL or Lambda."""
