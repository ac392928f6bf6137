// Package browser has only tests. They open the pages that a replica serves to everybody in a real Chromium.
package browser
