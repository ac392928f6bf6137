package sdk_test

import (
	"os"
	"os/signal"
	"syscall"
	"testing"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	// The runtime's own goroutine for signals begins with the first Notify of the process. In a bubble of synctest it
	// would end the process: some tests call RunUntilSignal in one.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGHUP)
	signal.Stop(signals)
	goleak.VerifyTestMain(m)
}
