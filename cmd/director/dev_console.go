package main

import (
	"context"
	"net"
	"net/url"
	"strings"
)

// prepareConsole fills in the address of the console, and a token with which it is opened. The token is made once and kept.
func (d *devRun) prepareConsole(ctx context.Context) error {
	if d.conf.ConsoleAddr == "" {
		d.conf.ConsoleAddr = freeOr(ctx, "127.0.0.1:8090")
	}
	if len(d.conf.OpsTokens) > 0 {
		return nil
	}
	made, _, err := d.data.key("console-token")
	for _, secret := range made {
		d.conf.OpsTokens = append(d.conf.OpsTokens, "dev="+secret)
	}
	return err
}

// consoleLink is the address of the console. It logs in by itself with the token that dev made, which no server logs: browsers do not
// send what follows #.
func (d *devRun) consoleLink(addr net.Addr) string {
	scheme := "http"
	if d.conf.TLSCert != "" {
		scheme = "https"
	}
	link := scheme + "://" + addr.String() + "/"
	for _, one := range d.conf.OpsTokens {
		if secret, found := strings.CutPrefix(one, "dev="); found && d.conf.from("ops-tokens") == fromDefault {
			return link + "login#token=" + url.QueryEscape(secret)
		}
	}
	return link
}
