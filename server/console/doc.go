// Package console is the operators' web page, on a listener of its own: health, fleet, sessions, players, capacity,
// queue, matches, rooms, deployments, events and keys. It reads the views of schema ops, and acts through the functions
// of schema ops, which write events that name the person. It owns no state: every replica serves any request of any
// browser, because a login is a sealed cookie (session.go).
//
// Pages are HTML that works without JavaScript. With it, static/console.js replaces the live part of a page by
// server-sent events (hub.go, stream.go), and adds keyboard shortcuts.
//
// # How to add a page
//
// A page is a Go file and a template of the same name; page_fleet.go and templates/fleet.html are the pattern. The page
// of one thing of a list may be in the file of the list: page_agents.go has those of all agents and of one.
//
//  1. page_NAME.go declares a page[T]: its path, its template, how often its live part is read, and a loader. T is what
//     the template reads. Store (store.go) has the methods of db.Store that pages call. The loader takes parameters of
//     the path and of the query from its [query], and checks and bounds them.
//  2. templates/NAME.html defines "title", "head" (the heading and filters, which are not replaced) and "live" (which
//     is replaced). Both get a [view]; what the loader returned is .Data. funcs.go has the functions for times,
//     numbers, states and links.
//  3. pages.go lists the page, and nav.go its place in the navigation.
//
// Drain, close and taint are actions. An [action] is a page that says what would happen and asks for a reason, and a
// function that runs after its form was sent. Declare it beside the page whose things it acts on, or in a file
// page_NAME_act.go, and list it in pages.go. Templates show links to actions inside {{if .Operator}}; the server
// refuses viewers in any case.
//
// Tables have the class "cards", and each cell the attribute data-label, so that a phone shows a card for each row.
// Lists are paged by keys: pageSize rows, and a link to the page after the last one (query.Next).
package console
