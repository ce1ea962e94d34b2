"""Checks made before training begins; each message names the cure."""
