"""The document of a plan, schema `elk.plan/1`: made, written, read and held to its rules."""
