"""How all bodies of the Sandbox API are read."""

from pydantic import ConfigDict
from pydantic.alias_generators import to_camel

# Unknown fields are ignored, as the hosted API does: clients are newer or older than we are.
LENIENT = ConfigDict(frozen=True, extra="ignore", alias_generator=to_camel, populate_by_name=True)
