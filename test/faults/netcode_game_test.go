package faults

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"time"

	"github.com/lattice-director/director/sdk"
	"github.com/lattice-director/director/token/netcode"
)

// netcodeGame is the argument with which this test's binary is a game server: a provider starts it with a clean
// environment.
const netcodeGame = "netcode-game"

// gameLife bounds a game server that nobody ends.
const gameLife = 3 * time.Minute

// runNetcodeGame is a game server that a director has started, as far as connecting goes: it registers, and reports
// each client whose connect token it can open, which it answers with the client's id.
func runNetcodeGame() error {
	ctx, cancel := context.WithTimeout(context.Background(), gameLife)
	defer cancel()
	d, deployed, err := sdk.Deployed(os.Environ())
	if err != nil || !deployed {
		return errors.Join(err, errors.New("not deployed"))
	}
	socket, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4zero, Port: d.Ports["game"]})
	if err != nil {
		return err
	}
	key, err := netcode.KeyOf(d.NetcodeKey)
	if err != nil {
		return err
	}
	minter, err := netcode.NewMinter(netcode.LightyearLE, key)
	if err != nil {
		return err
	}
	client, err := sdk.New(sdk.Options{URLs: d.URLs})
	if err != nil {
		return err
	}
	s, err := sdk.Start(ctx, client, d.Server)
	if err != nil {
		return err
	}
	go admitNetcode(ctx, socket, minter, d.ProtocolID, s)
	return s.RunUntilSignal(ctx, time.Second)
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

// exitAsGame runs the game server if this process is one.
func exitAsGame() {
	if len(os.Args) < 2 || os.Args[1] != netcodeGame {
		return
	}
	if err := runNetcodeGame(); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}
