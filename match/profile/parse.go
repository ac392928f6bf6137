package profile

// Parse reads a profile from YAML or JSON of at most [MaxBytes]. Reading is strict: keys that are not known, values of
// other types and rules that cannot hold together are refused. Defaults are filled in. Errors: *[Error], with up to 16
// problems.
func Parse(document []byte) (*Profile, error) {
	c, err := convertDocument(document, false)
	if err != nil {
		return nil, err
	}
	return c.p, nil
}

// ParseStored reads a document that a release has accepted, maybe an earlier one that checked less: a profile that
// matches nobody must not become one that cannot be read. Errors: as Parse.
func ParseStored(document []byte) (*Profile, error) {
	c, err := convertDocument(document, true)
	if err != nil {
		return nil, err
	}
	return c.p, nil
}

// Warnings returns what is allowed in a document and may be a mistake. A document that [Parse] refuses has none.
func Warnings(document []byte) []Problem {
	c, err := convertDocument(document, false)
	if err != nil {
		return nil
	}
	all := c.undeclaredUses()
	for _, name := range c.unvouchedNames() {
		if _, isUndeclared := c.attributeUses[name]; !isUndeclared { // else the warning above says enough
			all = append(all, c.clientsWord(name))
		}
	}
	sortProblems(all)
	return all
}

// ClientsWord returns the attributes that a document's rules and filters use, and of which it does not say from
// whom they are: any client may write what it likes into them. A document that [Parse] refuses has none.
func ClientsWord(document []byte) []Problem {
	c, err := convertDocument(document, false)
	if err != nil {
		return nil
	}
	var all []Problem
	for _, name := range c.unvouchedNames() {
		all = append(all, c.clientsWord(name))
	}
	sortProblems(all)
	return all
}

// convertDocument reads and checks a document. It returns the converter, of whose notes warnings are made.
func convertDocument(document []byte, stored bool) (*converter, error) {
	r := &report{isStored: stored}
	root := readRoot(r, document)
	if root == nil {
		return nil, r.problemsError()
	}
	// Conversion follows even after problems, to report as many as possible at once. It leaves out bad nodes.
	documentShape.checkNode(r, root)
	c := &converter{
		report: r, p: &Profile{},
		attributeUses: map[string]use{}, firstUses: map[string]firstUse{}, saysFrom: map[string]bool{},
		ruleIDs: map[string]bool{}, roleNames: map[string]bool{}, ruleNodes: map[string]*node{},
	}
	if root.kind == isObject {
		c.convertProfile(root)
		c.reportContradictions()
	}
	if err := r.problemsError(); err != nil {
		return nil, err
	}
	return c, nil
}

// readRoot returns the root of a document, or nil after it reported a problem.
func readRoot(r *report, document []byte) *node {
	// Before anything is parsed: the size bounds what parsing costs.
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
