"""``openapi``: the document from which generators make clients."""

import json
import sys

from remembrancer.extras import extra


def openapi() -> None:
    """Print the OpenAPI document of the REST API.

    Generators make clients from it. It needs no server.

    Examples:
      remembrancer openapi > openapi.json
    """
    with extra("server"):
        from remembrancer.api.server import openapi_document  # noqa: PLC0415 - the whole API

    json.dump(openapi_document(), sys.stdout, ensure_ascii=False, indent=1)
    sys.stdout.write("\n")
