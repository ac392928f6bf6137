package profile

import "encoding/json"

// Schema returns the JSON Schema (draft 2020-12) of profiles. It accepts every document that [Parse] accepts. Parse
// checks more: names that must exist, sizes that must be reached, the order of steps.
func Schema() []byte {
	s := documentShape.jsonSchema()
	s["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	s["title"] = "Profile"
	s["description"] = "How Lattice Director makes matches of tickets."
	kinds := make([]schema, len(ruleShapes))
	definitions := schema{}
	for i, kind := range ruleShapes {
		name := "rule_" + kind.kindKey
		one := kind.object().jsonSchema()
		one["description"] = kind.aboutText
		definitions[name] = one
		kinds[i] = schema{"$ref": "#/$defs/" + name}
	}
	definitions["rule"] = schema{"description": "A condition on the players of a match.", "anyOf": kinds}
	// What the references of innerRule lead to.
	s["$defs"] = definitions
	out, _ := json.MarshalIndent(s, "", "  ") // maps, lists, texts and finite numbers: it cannot fail
	return append(out, '\n')
}
