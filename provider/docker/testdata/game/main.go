// Command game is the game server in the image of the tests: it echoes datagrams until SIGTERM.
package main

import (
	"fmt"
	"net"
	"os"
	"os/signal"
	"syscall"
	"time"
)

func main() {
	terminated := make(chan os.Signal, 4)
	signal.Notify(terminated, syscall.SIGTERM)
	c, err := net.ListenPacket("udp", ":"+os.Getenv("LATTICE_PORT_GAME"))
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	go func() {
		buffer := make([]byte, 100)
		for {
			n, from, err := c.ReadFrom(buffer)
			if err != nil {
				return
			}
			_, _ = c.WriteTo(buffer[:n], from)
		}
	}()
	time.AfterFunc(5*time.Minute, func() { os.Exit(1) }) // a test that is killed leaves nothing for ever
	for range terminated {
		if os.Getenv("TEST_STUBBORN") == "" {
			os.Exit(0)
		}
	}
}
