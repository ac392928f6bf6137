# Connects a signal as Godot 3 spells it.
extends Reference


func on(object, signal_name, target, method):
	object.connect(signal_name, target, method)
