"""Attacks on a service: who gets in, what a body can do, what time and connections tell."""
