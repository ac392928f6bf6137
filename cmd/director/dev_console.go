package main

import (
	"context"
	"net"
	"net/url"
	"strings"
)

// prepareConsole fills in the address of the console, and a token with which it is opened. The token is made once and
// kept.
func (d *devRun) prepareConsole(ctx context.Context) error {
	if d.conf.Console.Addr == "" {
		d.conf.Console.Addr = freeOr(ctx, "127.0.0.1:8090")
	}
	if len(d.conf.Server.OpsTokens) > 0 {
		return nil
	}
	made, _, err := d.data.key("console-token")
	for _, secret := range made {
		d.conf.Server.OpsTokens = append(d.conf.Server.OpsTokens, "dev="+secret)
	}
	return err
}

// consoleLink is the address of the console. It logs in by itself with the token that dev made, which no server logs:
// browsers do not send what follows #.
func (d *devRun) consoleLink(addr net.Addr) string {
	scheme := "http"
	if d.conf.Server.TLSCert != "" {
		scheme = "https"
	}
	link := scheme + "://" + addr.String() + "/"
	for _, one := range d.conf.Server.OpsTokens {
		if secret, found := strings.CutPrefix(one, "dev="); found && d.conf.from("ops-tokens") == fromDefault {
			return link + "login#token=" + url.QueryEscape(secret)
		}
	}
	return link
}
