"""The whole bot, over a real forge and a real engine, told in sentences."""
