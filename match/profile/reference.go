package profile

// Section is a table of the reference of profiles.
type Section struct {
	Title string // "" for the profile itself
	About string
	Keys  []Key
}

// Key is a key of a profile, or of a part of one.
type Key struct {
	Name     string
	Required bool
	Default  string // "" if there is none, or Required
	Values   string
	About    string
}

// Reference returns the keys of profiles, part by part, from the table that [Parse] reads documents by.
func Reference() []Section {
	all := []Section{{Keys: keysOf(documentShape)}}
	for _, part := range []struct {
		title, about string
		partShape    object
	}{
		{"pool", "", poolShape}, {"pool.doubles", "A range of a double_arg.", doubleShape},
		{"attributes", "By the name of the attribute.", attributeShape},
		{"teams", "", teamShape},
		{"teams.players", "In place of a number; `fewer` says the same of several steps.", fillShape},
		{"prefer", "", preferShape}, {"fewer", "", fewerShape}, {"batch", "", batchShape},
		{"priority", "", priorityShape},
		{"order", "Exactly one of `distance` and `value`.", orderShape},
		{"join_in_progress", "", joinShape}, {"accept", "", acceptShape}, {"function", "", functionShape},
	} {
		all = append(all, Section{part.title, part.about, keysOf(part.partShape)})
	}
	// Of a rule without a kind: the tables of the kinds say which keys a step of widen may have.
	common := object{keyFields: commonFields(ruleShape{})}
	all = append(all, Section{"rules", "A rule has exactly one kind: the key of one of the tables below. Every rule " +
		"also has these keys.", keysOf(common)})
	for _, kind := range ruleShapes {
		o := kind.object()
		// Without the keys of every rule, which come last: see ruleShape.object.
		own := object{keyFields: o.keyFields[:1+len(kind.ownFields)]}
		all = append(all, Section{"rules: " + kind.kindKey, kind.aboutText, keysOf(own)})
		if len(kind.stepFields) > 0 {
			last := &all[len(all)-1]
			last.About += " A step of `widen` names " + quotedNames(kind.stepFields) + "."
		}
	}
	return append(all, Section{"measures", "What `compare` takes, and `to` in place of a number.", keysOf(measureShape)})
}

func keysOf(o object) []Key {
	keys := make([]Key, len(o.keyFields))
	for i, f := range o.keyFields {
		keys[i] = Key{Name: f.keyName, Required: f.isRequired, Default: f.initialText,
			Values: f.valueShape.describeAllowed(),
			About:  f.aboutText}
	}
	return keys
}

func quotedNames(fields []field) string {
	names := object{keyFields: fields}.keyNames()
	for i, name := range names {
		names[i] = "`" + name + "`"
	}
	return oneOf(names)
}
