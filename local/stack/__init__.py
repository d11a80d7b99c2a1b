"""The stack a command works on: a local one with its DynamoDB engine and stream reader, or one on AWS."""
