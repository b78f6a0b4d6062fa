#pragma once
// Everything an application needs.

#include <granary/chain_log.h>
#include <granary/database.h>
#include <granary/declared_access.h>
#include <granary/isolation.h>
#include <granary/key.h>
#include <granary/limits.h>
#include <granary/notice.h>
#include <granary/operations.h>
#include <granary/options.h>
#include <granary/outcome.h>
#include <granary/procedure.h>
#include <granary/status.h>
#include <granary/table.h>
#include <granary/transaction.h>
