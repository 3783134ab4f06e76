// keyspan/cosmos.hpp — all of cosmos: accounts and containers of Azure Cosmos DB, and what is said
// to it over HTTP. A component of its own: link keyspan::cosmos.
#pragma once

#include <keyspan/cosmos/account_answers.hpp>
#include <keyspan/cosmos/account_sender.hpp>
#include <keyspan/cosmos/address.hpp>
#include <keyspan/cosmos/container_answers.hpp>
#include <keyspan/cosmos/cosmos_account.hpp>
#include <keyspan/cosmos/cosmos_container.hpp>
#include <keyspan/cosmos/cosmos_lease_store.hpp>
#include <keyspan/cosmos/credential.hpp>
#include <keyspan/cosmos/document_json.hpp>
#include <keyspan/cosmos/document_page.hpp>
#include <keyspan/cosmos/hmac_sha256.hpp>
#include <keyspan/cosmos/lease_document.hpp>
#include <keyspan/cosmos/lease_takeover.hpp>
#include <keyspan/cosmos/open_container.hpp>
#include <keyspan/cosmos/record_document.hpp>
#include <keyspan/cosmos/regional_account.hpp>
#include <keyspan/cosmos/service_errors.hpp>
#include <keyspan/cosmos/service_request.hpp>
#include <keyspan/cosmos/session_token.hpp>
