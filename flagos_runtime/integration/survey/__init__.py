"""The torch side of a survey: cases of an overload, the CPU's answer to each, and what the device makes of it."""
