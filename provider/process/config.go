package process

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
)

// The ports of servers, unless [Config] has others.
const (
	DefaultPortMin = 30000
	DefaultPortMax = 30999
)

// Config configures a [Provider].
type Config struct {
	Dir string // of the state, created if absent. Required; one per host and installation
	// Commands are the programs that may be started, by name: an absolute path and its arguments. ${NAME} in an
	// argument is replaced by that variable of the server's environment, such as ${LATTICE_PORT_GAME}, and never
	// becomes more than one argument.
	Commands map[string][]string
	// Variables are the variables that a Spec may set beside the director's own, or the beginnings of their names, as
	// GAME_*. Others are refused: many interpreters and libraries run code that a variable names.
	Variables []string
	// User is the user of the servers; nil: that of the director. Only a director that runs as root can set another
	// one.
	User    *User
	PortMin uint16 // the range of the servers' ports, inclusive; DefaultPortMin to DefaultPortMax by default
	PortMax uint16
	// Advertise is the address that players dial; 127.0.0.1 by default.
	Advertise   netip.Addr
	MaxServers  int   // that are alive at once; 100 by default
	MaxLogBytes int64 // of a server's log; log.1 keeps up to half as many bytes from before. 8 MiB by default
	// EndWithParent kills the servers when the process of this director ends, even by kill -9. Only Linux can do this.
	EndWithParent bool
	Logger        *slog.Logger // nil discards
}

// User is a user of this machine. Its processes have no other groups.
type User struct{ UID, GID uint32 }

func (c Config) checkSettings() error {
	if c.Dir == "" {
		return errors.New("process: Dir is empty")
	}
	if c.PortMin > c.PortMax {
		return fmt.Errorf("process: the range of ports %d-%d is empty", c.PortMin, c.PortMax)
	}
	if c.User != nil && os.Geteuid() != 0 {
		return errors.New("process: only root can run game servers as another user")
	}
	for name, argv := range c.Commands {
		// A name alone would mean another program in another working directory or PATH.
		if len(argv) == 0 || !filepath.IsAbs(argv[0]) {
			return fmt.Errorf("process: command %q does not begin with an absolute path", name)
		}
	}
	return errUnsupported
}

// Provider runs processes. Safe for concurrent use.
type Provider struct {
	config       Config
	log          *slog.Logger
	lockSlot     chan struct{} // held with the file lock, so that one goroutine at a time polls the file lock
	cancelTidier context.CancelFunc
	tidier       sync.WaitGroup
}
