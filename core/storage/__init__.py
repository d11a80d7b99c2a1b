"""DynamoDB: the connection, the tables, the rank index."""
