"""Tiles a conversation's wall clock into stages and says what to change."""
