// What ldapts does with the server: StartTLS and ldaps. Prints a line for each way and authority: who the client is then, or "refused" if it does not
// trust the server.
//
// usage: node main.cjs PORT SECURE-PORT DN PASSWORD AUTHORITY...
"use strict";

const fs = require("node:fs");
const { Client } = require("ldapts");

const [port, secure, dn, password, ...authorities] = process.argv.slice(2);

async function who(url, tlsOptions, startTls) {
  const client = new Client({ url, tlsOptions: startTls ? undefined : tlsOptions, timeout: 60000, connectTimeout: 60000 });
  try {
    if (startTls) {
      await client.startTLS({ ...tlsOptions });
    }
    await client.bind(dn, password);
    const { value } = await client.exop("1.3.6.1.4.1.4203.1.11.3");
    await client.unbind();
    return value;
  } catch (error) {
    if (error.code === "UNABLE_TO_VERIFY_LEAF_SIGNATURE") {
      return "refused";
    }
    throw error;
  }
}

async function main() {
  for (const authority of authorities) {
    const tlsOptions = { ca: [fs.readFileSync(authority)], servername: "localhost" };
    console.log("StartTLS", await who(`ldap://127.0.0.1:${port}`, tlsOptions, true));
    console.log("ldaps", await who(`ldaps://127.0.0.1:${secure}`, tlsOptions, false));
  }
  // A connection whose handshake has failed may be open yet.
  process.exit(0);
}

main();
