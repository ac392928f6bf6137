package main

import (
	"crypto/rand"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lattice-director/director/examples/arena/server"
	"github.com/lattice-director/director/sdk"
)

// gamePort is the name of the port in the app versions of arena.
const gamePort = "game"

// serverCommand runs a game server. It reads the fleet token from the environment only: all users of the host can read a
// command line.
func serverCommand(c *common) *cobra.Command {
	var cfg server.Config
	var grace, startWithin time.Duration
	cmd := &cobra.Command{
		Use:   "server",
		Short: "Run a game server",
		Long: "Run a game server until SIGTERM or Ctrl-C. Then it drains, waits for its players to leave, and exits.\n" +
			"The fleet token is read from $FLEET_TOKEN. Started by the director, it takes everything from its " +
			"environment, and the flags\nthat name the server, its region, modes, capacity and addresses have no effect.",
		Example: "  FLEET_TOKEN=… arena server --region eu-west --modes duel,ffa --capacity 64",
		Args:    cobra.NoArgs,
	}
	f := cmd.Flags()
	f.StringVar(&cfg.InstanceID, "instance-id", "", "name of this server, unique in the fleet (default arena-<random>)")
	f.StringVar(&cfg.Region, "region", "local", "region to offer seats in")
	f.StringSliceVar(&cfg.Modes, "modes", []string{"ffa"}, "game modes to offer")
	f.IntVar(&cfg.Capacity, "capacity", 64, "players over all sessions")
	f.StringVar(&cfg.Listen, "listen", "127.0.0.1:0", "address for players")
	f.StringVar(&cfg.Advertise, "advertise", "",
		"URL at which players connect (default ws://<listen>/play, with the host name if it listens on all addresses)")
	f.DurationVar(&cfg.HeartbeatEvery, "heartbeat-every", 5*time.Second,
		"pause between heartbeats, a third of the director's lease")
	f.DurationVar(&cfg.EmptyFor, "empty-for", 10*time.Second, "how long a session may be empty")
	f.DurationVar(&grace, "grace", 30*time.Second, "how long matches may continue after SIGTERM")
	f.DurationVar(&startWithin, "start-within", time.Minute, "how long to wait for the director at start")
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		d, deployed, err := sdk.Deployed(os.Environ())
		if err != nil {
			return err
		}
		cfg.FleetToken = os.Getenv("FLEET_TOKEN")
		if deployed {
			// What the deployment says wins over the flags: the director refuses another region or capacity.
			c.directorURLs = d.URLs
			cfg = cfg.WithDeployment(d, gamePort)
		}
		if cfg.InstanceID == "" {
			// A new name for each process: of two processes with one name, the later one replaces the other.
			cfg.InstanceID = "arena-" + strings.ToLower(rand.Text()[:8])
		}
		return runServer(cmd, c, cfg, grace, startWithin)
	}
	return cmd
}

func runServer(cmd *cobra.Command, c *common, cfg server.Config, grace, startWithin time.Duration) error {
	cfg.Logger = c.newLogger()
	client, err := c.newClient(cfg.Logger)
	if err != nil {
		return err
	}
	defer client.Close()
	cfg.Director = client
	// The SDK retries within startWithin: in a compose file, the server may start before the director.
	ctx, stop := untilSignal(cmd.Context(), startWithin)
	s, err := server.Start(ctx, cfg)
	stop() // Run listens for signals itself
	if err != nil {
		return err
	}
	err = s.Run(cmd.Context(), grace)
	cfg.Logger.Info("arena is closed")
	return err
}
