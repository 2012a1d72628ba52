// How the search of the site orders what it finds: pages that explain before those that list.
// Sphinx puts this before its own searchtools.js; what stands here takes the place of its table.
const EXPLAINS = /^((tutorials|how-to|explanation|rules)\/|(install|exit-codes|words)$)/;

var Scorer = {
  score: ([page, _title, _anchor, _description, score]) => score + (EXPLAINS.test(page) ? 6 : 0),
  objNameMatch: 6,
  objPartialMatch: 1,
  objPrio: { 0: 5, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};

// An excerpt is fetched from its page, which browsers refuse to a site that is opened from disk.
DOCUMENTATION_OPTIONS.SHOW_SEARCH_SUMMARY = location.protocol !== "file:";
