package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/lattice-director/director/internal/base/fault"
	"github.com/lattice-director/director/internal/provisioning/poolfile"
)

// fieldText is refusalText with the name of the field, for commands whose flags have the names of fields.
func fieldText(err error) error {
	var refused *fault.Error
	if errors.As(err, &refused) && refused.Field != "" {
		return fmt.Errorf("%s: %s", refused.Field, refused.Detail)
	}
	return refusalText(err)
}

// refusalText returns the detail of a refusal of the store, which is for people, as an error.
func refusalText(err error) error {
	// Unavailable keeps its cause, which explainDatabaseError looks at.
	if refused, decided := fault.AsDecision(err); decided {
		return errors.New(refused.Detail)
	}
	return err
}

// atFile prefixes problems with FILE:LINE:COLUMN, which editors understand. Other errors stay as they are.
func atFile(file string, err error) error {
	var refused *poolfile.Error
	if !errors.As(err, &refused) {
		return err
	}
	// All problems of the file, a line each: an editor lists them all.
	lines := make([]string, len(refused.Problems))
	for i, p := range refused.Problems {
		lines[i] = p.InFile(file)
	}
	return errors.New(strings.Join(lines, "\n"))
}
