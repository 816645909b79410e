"""Registrations with the dispatcher."""
