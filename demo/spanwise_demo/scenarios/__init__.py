"""What can be wrong with an agent, as data: each scenario plants one cause, its twin is the same without it."""
