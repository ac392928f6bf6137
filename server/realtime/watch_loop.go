package realtime

import "context"

// watchLoop is a loop that runs while connections of this replica watch something: the first one starts it, the last
// one stops it. The lock of what they watch guards it.
type watchLoop struct{ stop context.CancelFunc } // nil: it does not run

// start runs the loop, unless it runs or the server does not.
func (l *watchLoop) start(s *Server, run func(ctx context.Context)) {
	if l.stop == nil {
		l.stop = s.startLoop(run)
	}
}

func (l *watchLoop) end() {
	if l.stop != nil {
		l.stop()
		l.stop = nil
	}
}
