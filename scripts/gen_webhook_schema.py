"""Writes contracts/webhooks/v1.schema.json from the types of the notification payload."""

from __future__ import annotations

import json

from jitterscope.notify.payload import Payload
from jitterscope.settings import REPOSITORY

if __name__ == "__main__":
    path = REPOSITORY / "contracts" / "webhooks" / "v1.schema.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(Payload.model_json_schema(mode="serialization"), indent=2, ensure_ascii=False) + "\n")
