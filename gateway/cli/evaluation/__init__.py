"""Conversations that show how well a model works with the memory: what they are, how they are held with a
gateway of their own, what is checked, and the table of it.

conversations     the YAML       endpoints      which model, where, and the settings of its gateway
conversation_run  the turns      answer_checks  what of a turn is checked
results           figures of a model, as a table and as JSON
"""
