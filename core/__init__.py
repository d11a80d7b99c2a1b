"""The ranking module: boards, scores, ranks on DynamoDB. Knows nothing of GraphQL or Lambda."""
