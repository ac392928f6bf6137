package profile

// Parse reads a profile from YAML or JSON of at most [MaxBytes]. Reading is strict: keys that are not known, values of
// other types and rules that cannot hold together are refused. Defaults are filled in. Errors: *[Error], with up to 16
// problems.
func Parse(document []byte) (*Profile, error) {
	c, err := convert(document, false)
	if err != nil {
		return nil, err
	}
	return c.p, nil
}

// ParseStored reads a document that a release has accepted, maybe an earlier one that checked less: a profile that
// matches nobody must not become one that cannot be read. Errors: as Parse.
func ParseStored(document []byte) (*Profile, error) {
	c, err := convert(document, true)
	if err != nil {
		return nil, err
	}
	return c.p, nil
}

// Warnings returns what is allowed in a document and may be a mistake. A document that [Parse] refuses has none.
func Warnings(document []byte) []Problem {
	c, err := convert(document, false)
	if err != nil {
		return nil
	}
	all := c.undeclared()
	for _, name := range c.unvouched() {
		if _, isUndeclared := c.attributes[name]; !isUndeclared { // else the warning above says enough
			all = append(all, c.clientsWord(name))
		}
	}
	sortProblems(all)
	return all
}

// ClientsWord returns the attributes that a document's rules and filters use, and of which it does not say from
// whom they are: any client may write what it likes into them. A document that [Parse] refuses has none.
func ClientsWord(document []byte) []Problem {
	c, err := convert(document, false)
	if err != nil {
		return nil
	}
	var all []Problem
	for _, name := range c.unvouched() {
		all = append(all, c.clientsWord(name))
	}
	sortProblems(all)
	return all
}

func convert(document []byte, stored bool) (*converter, error) {
	r := &report{isStored: stored}
	root := read(r, document)
	if root == nil {
		return nil, r.err()
	}
	documentShape.check(r, root)
	c := &converter{
		report: r, p: &Profile{},
		attributes: map[string]use{}, firstUses: map[string]firstUse{}, saysFrom: map[string]bool{}, ids: map[string]bool{}, roles: map[string]bool{}, nodes: map[string]*node{},
	}
	if root.kind == isObject {
		c.profile(root)
		c.contradictions()
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	return c, nil
}

// read returns the root of a document, or nil after it reported a problem.
func read(r *report, document []byte) *node {
	text, err := limits.Text(document)
	if err != nil {
		r.addError(err)
		return nil
	}
	if isJSON(text) {
		return readJSON(r, text)
	}
	return readYAML(r, text)
}
