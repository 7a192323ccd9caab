"""Measurements that anybody can repeat; each prints JSON."""
