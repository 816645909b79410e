"""Evidence for operator routes: each overload is tried in a process of its own and compared with the CPU."""
