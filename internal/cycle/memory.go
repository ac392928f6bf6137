package cycle

// Hold counts bytes of a match function's answer that are in memory before they are proposals, against what all proposals may
// take. A caller that is granted them releases as many. Errors: the memory is taken. Safe for concurrent use.
func (e *Engine) Hold(bytes int) error {
	if e.held.Add(int64(bytes)) > e.Memory {
		e.Release(bytes)
		return errFull
	}
	return nil
}

// Release gives back what Hold granted.
func (e *Engine) Release(bytes int) { e.held.Add(-int64(bytes)) }
