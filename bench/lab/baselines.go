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
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	for n := len(l.baselines); n < len(l.replicas); n++ {
		p, err := l.Start(ctx, Command{Name: fmt.Sprintf("baseline-%d", n), Program: self,
			Args: []string{BaselineCommand}})
		if err != nil {
			return nil, err
		}
		l.baselines = append(l.baselines, p)
	}
	return l.baselines, nil
}

// URLs returns the base URLs of processes.
func URLs(processes []*Process) (urls []string) {
	for _, p := range processes {
		urls = append(urls, p.URL)
	}
	return urls
}

// RealtimeURLs returns the base URLs of the realtime lobby of processes.
func RealtimeURLs(processes []*Process) (urls []string) {
	for _, p := range processes {
		urls = append(urls, "http://"+p.Realtime)
	}
	return urls
}
