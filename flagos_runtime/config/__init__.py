"""The route file and the environment, read and checked; nothing outside this package imports yaml or pydantic.

Importing the package itself, `environment`, `search` or `overloads` loads neither of the two.
"""
