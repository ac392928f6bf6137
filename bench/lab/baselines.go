package lab

import (
	"context"
	"fmt"
	"os"
)

// BaselineCommand is the argument with which the program that uses the lab serves the baselines.
const BaselineCommand = "baseline"

// Baselines returns the processes of the baselines, as many as there are replicas: this program, run with
// [BaselineCommand]. The first call starts them. Not safe for concurrent use.
func (l *Lab) Baselines(ctx context.Context) ([]*Process, error) {
	self, err := os.Executable() // the director has no baselines
	if err != nil {
		return nil, err
	}
	for n := len(l.baselines); n < len(l.Replicas); n++ {
		p, err := l.Start(ctx, Command{Name: fmt.Sprintf("baseline-%d", n), Program: self,
			Args: []string{BaselineCommand}})
		if err != nil {
			return nil, err
		}
		l.baselines = append(l.baselines, p)
	}
	return l.baselines, nil
}
