"""The platforms that flagos_runtime ships, one vendor a file.

A file imports ``flagos_runtime.hookspecs`` and ``flagos_runtime.records`` only, never another platform and never a
vendor's SDK. Its hookimpls return records; they neither patch nor print. The runtime finds a file by its name in
``flagos_runtime.plugins.BUILTIN``.
"""
