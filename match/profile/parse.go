package profile

// Parse reads a profile from YAML or JSON of at most [MaxBytes]. Reading is strict: keys that are not known, values of
// other types and rules that cannot hold together are refused. Defaults are filled in. Errors: *[Error], with up to 16
// problems.
func Parse(document []byte) (*Profile, error) {
	c, err := convertDocument(document, &report{})
	if err != nil {
		return nil, err
	}
	return c.p, nil
}

// ParseStored reads a document that a release has accepted, maybe an earlier one that checked less: a profile that
// matches nobody must not become one that cannot be read. Errors: as Parse.
func ParseStored(document []byte) (*Profile, error) {
	c, err := convertDocument(document, &report{isStored: true})
	if err != nil {
		return nil, err
	}
	return c.p, nil
}

// Warnings returns what is allowed in a document and may be a mistake. A document that [Parse] refuses has none.
func Warnings(document []byte) []Problem {
	c, err := convertDocument(document, &report{})
	if err != nil {
		return nil
	}
	all := c.undeclaredUses()
	for _, name := range c.unvouchedNames() {
		// An attribute that is not declared has a warning of undeclaredUses already.
		if _, isUndeclared := c.attributeUses[name]; !isUndeclared {
			all = append(all, c.clientsWord(name))
		}
	}
	sortProblems(all)
	return all
}

// ClientsWord returns a problem for each attribute that a document's rules and filters use, and of which the document
// does not say from whom it is: any client may write what it likes into it. A document that [Parse] refuses has none.
func ClientsWord(document []byte) []Problem {
	c, err := convertDocument(document, &report{})
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

// convertDocument reads and checks a document with an empty report. It returns the converter, from whose records
// warnings are made.
func convertDocument(document []byte, r *report) (*converter, error) {
	root := readRoot(r, document)
	if root == nil {
		return nil, r.problemsError()
	}
	// The document is converted even after problems, to report as many as possible at once.
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
