// Lattice Director for players and game servers.
#pragma once

#include "lobby.hpp"
#include "player.hpp"
#include "sidecar.hpp"
#include "version.hpp"
