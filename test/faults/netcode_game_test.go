package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lattice-director/director/internal/testkit/must"
	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/token/netcode"
)

// netcodeGame is the argument with which this test's binary is a game server: a provider starts it with a clean
// environment.
const netcodeGame = "netcode-game"

// gameLife bounds a game server that nobody ends.
const gameLife = 3 * time.Minute

// gameProcess ends the process of a game server that has failed.
type gameProcess struct{}

// Errorf implements require.TestingT.
func (gameProcess) Errorf(format string, args ...any) { fmt.Fprintf(os.Stderr, format, args...) }

// FailNow implements require.TestingT.
func (gameProcess) FailNow() { os.Exit(1) }

// runNetcodeGame is a game server that a director has started, as far as connecting goes: it registers, and reports
// each client whose connect token it can open, which it answers with the client's id.
func runNetcodeGame(p gameProcess) {
	ctx, cancel := context.WithTimeout(context.Background(), gameLife)
	defer cancel()
	d, deployed, err := sdk.Deployed(os.Environ())
	require.NoError(p, err)
	require.True(p, deployed)
	socket := must.Get(net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4zero, Port: d.Ports["game"]}))(p)
	key := must.Get(netcode.KeyOf(d.NetcodeKey))(p)
	minter := must.Get(netcode.NewMinter(netcode.LightyearLE, key))(p)
	client := must.Get(sdk.New(sdk.Options{URLs: d.URLs}))(p)
	s := must.Get(sdk.Start(ctx, client, d.Server))(p)
	go admitNetcode(ctx, socket, minter, d.ProtocolID, s)
	if err := s.RunUntilSignal(ctx, time.Second); !errors.Is(err, context.DeadlineExceeded) {
		require.NoError(p, err)
	}
}

func admitNetcode(ctx context.Context, socket *net.UDPConn, minter *netcode.Minter, protocol uint64, s *sdk.GameServer) {
	buffer, clients := make([]byte, 4096), []uint64{}
	for {
		n, from, err := socket.ReadFromUDPAddrPort(buffer)
		if err != nil {
			return
		}
		claims, err := minter.Open(buffer[:n], protocol, time.Now())
		if err != nil {
			continue // as netcode servers do
		}
		clients = append(clients, claims.ClientID)
		answer := fmt.Sprint(claims.ClientID)
		if refused, err := s.ReportClients(ctx, clients); err != nil || len(refused) > 0 {
			answer = fmt.Sprint(refused, err)
		}
		_, _ = socket.WriteToUDPAddrPort([]byte(answer), from)
	}
}
