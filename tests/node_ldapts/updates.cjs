// What ldapts does with a directory: log-ins, pages, sorting, updates. Prints a line for each.
//
// usage: node updates.cjs PORT DN PASSWORD SUFFIX USER-DN WORD WRONG-WORD
"use strict";

const { AndFilter, Attribute, Change, Client, EqualityFilter, PresenceFilter, ServerSideSortingRequestControl } = require("ldapts");

const [port, dn, password, suffix, user, ...words] = process.argv.slice(2);

function connected() {
  return new Client({ url: `ldap://127.0.0.1:${port}`, timeout: 60000, connectTimeout: 60000 });
}

// What an operation ends with: the name of its error, if it has one.
async function ended(operation) {
  try {
    await operation;
    return "success";
  } catch (error) {
    return error.name;
  }
}

async function bound(dn, password) {
  const client = connected();
  try {
    return await ended(client.bind(dn, password));
  } finally {
    await client.unbind();
  }
}

async function main() {
  console.log("log-in", await bound(user, words[0]), await bound(user, words[1]));
  const client = connected();
  await client.bind(dn, password);
  const pages = [];
  for await (const page of client.searchPaginated(suffix, { filter: "(objectClass=*)", attributes: ["1.1"], paged: { pageSize: 4 } })) {
    pages.push(page.searchEntries.length);
  }
  console.log("pages", pages.join(" "));
  const filter = new AndFilter({ filters: [new PresenceFilter({ attribute: "mail" }), new EqualityFilter({ attribute: "objectClass", value: "person" })] });
  const sorting = new ServerSideSortingRequestControl({ value: { attributeType: "sn", orderingRule: "caseIgnoreOrderingMatch", reverseOrder: true } });
  const sorted = await client.search(suffix, { filter, attributes: ["sn"] }, sorting);
  console.log("sorted", sorted.searchEntries.map((entry) => entry.sn).join(" "));

  const made = `cn=new \\2C one,ou=People,${suffix}`;
  const entry = { objectClass: ["inetOrgPerson"], cn: "new , one", sn: "One", title: ["a", "b"], jpegPhoto: Buffer.from([0, 255, 128]) };
  await client.add(made, entry);
  const change = (operation, type, values) => new Change({ operation, modification: new Attribute({ type, values }) });
  console.log("refused", await ended(client.add(made, entry)), await ended(client.modify(made, change("add", "uidNumber", ["1"]))));
  await client.modify(made, [change("delete", "title", ["a"]), change("replace", "mail", ["new@example.com"])]);
  console.log("compared", await client.compare(made, "title", "B"), await client.compare(made, "title", "a"));
  await client.modifyDN(made, `cn=moved,ou=Empty,${suffix}`);
  const [moved] = (await client.search(`cn=moved,ou=Empty,${suffix}`, { scope: "base", explicitBufferAttributes: ["jpegPhoto"] })).searchEntries;
  console.log("moved", moved.dn, moved.cn, moved.title, moved.mail, moved.jpegPhoto.toString("hex"));
  await client.del(moved.dn);
  console.log("left", await ended(client.search(moved.dn, { scope: "base" })));
  await client.unbind();
}

main();
