"""Terraform's tables are those of the code."""

import json
import re
from pathlib import Path
from typing import Any

from core.storage.database import Database
from core.storage.tables import RANK_INDEX, TTL_ATTRIBUTE, definitions, tables_with_ttl

INFRA = Path(__file__).parents[2] / "infra"


def test_the_tables_are_those_of_the_code(db: Database) -> None:
    """Compare the text of tables.tf; `make e2e` compares the tables that Terraform creates."""
    text = (INFRA / "tables.tf").read_text()
    blocks = dict(re.findall(r'resource "aws_dynamodb_table" "(\w+)" \{\n(.*?)\n\}', text, re.DOTALL))
    for wanted in definitions(db):
        block = blocks[wanted["TableName"].rsplit("-", 1)[1]]
        keys = dict(re.findall(r'^  (hash_key|range_key) +?= "(\w+)"', block, re.MULTILINE))
        assert keys == _keys(wanted["KeySchema"])
        attributes = dict(re.findall(r'attribute \{\s+name = "(\w+)"\s+type = "(\w)"', block))
        assert attributes == {
            attribute["AttributeName"]: attribute["AttributeType"]
            for attribute in wanted["AttributeDefinitions"]
        }
        assert ("NEW_AND_OLD_IMAGES" in block) == ("StreamSpecification" in wanted)
        inner = re.findall(r"global_secondary_index \{(.*?)\n  \}", block, re.DOTALL)
        indexes = {
            found["name"]: found for found in (dict(re.findall(r'(\w+) += "(\w+)"', one)) for one in inner)
        }
        assert indexes.keys() == {index["IndexName"] for index in wanted.get("GlobalSecondaryIndexes", ())}
        for index in wanted.get("GlobalSecondaryIndexes", ()):
            found = indexes[index["IndexName"]]
            assert {kind: found[kind] for kind in ("hash_key", "range_key")} == _keys(index["KeySchema"])
            assert found["projection_type"] == index["Projection"]["ProjectionType"]
            if index["IndexName"] == RANK_INDEX:
                projection = (INFRA / "rank_index.json").read_text()
                assert json.loads(projection) == index["Projection"]["NonKeyAttributes"], "run `make schema`"
                assert 'jsondecode(file("${path.module}/rank_index.json"))' in inner[0]
        expires = wanted["TableName"] in tables_with_ttl(db)
        assert (f'attribute_name = "{TTL_ATTRIBUTE}"' in block) is expires


def _keys(schema: Any) -> dict[str, str]:
    names = {"HASH": "hash_key", "RANGE": "range_key"}
    return {names[key["KeyType"]]: key["AttributeName"] for key in schema}
