package lab

import (
	"context"
	"fmt"
	"os"
)

// BaselineCommand is the argument with which the program that has the lab serves what a director is compared with.
const BaselineCommand = "baseline"

// Baselines are as many processes of what the director is compared with as it has replicas: this program, run with
// [BaselineCommand]. The first call starts them. It is for one goroutine.
func (l *Lab) Baselines(ctx context.Context) ([]*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for n := len(l.baselines); n < len(l.replicas); n++ {
		p, err := l.Start(ctx, Command{Name: fmt.Sprintf("baseline-%d", n), Program: self, Args: []string{BaselineCommand}})
		if err != nil {
			return nil, err
		}
		l.baselines = append(l.baselines, p)
	}
	return l.baselines, nil
}

// URLs are the base URLs of processes.
func URLs(processes []*Process) (urls []string) {
	for _, p := range processes {
		urls = append(urls, p.URL)
	}
	return urls
}
