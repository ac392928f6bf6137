# Connects a signal as Godot 4 spells it.
extends RefCounted


func on(object, signal_name, target, method):
	object.connect(signal_name, Callable(target, method))
