"""The owners of outside things, each with the real thing."""
