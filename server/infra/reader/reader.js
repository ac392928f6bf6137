'use strict';
// The reader of the contracts: Swagger UI, with a search over whole operations instead of the names of tags.

const nexis = new URLSearchParams(location.search).get('doc') === 'nexis';

// searched is the text of an operation, by the operation: its tag may be drawn again at each key.
const searched = new WeakMap();
const text = (operation, tag) => {
  if (!searched.has(operation)) searched.set(operation, `${tag} ${JSON.stringify(operation.toJS())}`.toLowerCase());
  return searched.get(operation);
};

// search keeps the operations that contain every word.
const search = (tags, phrase) => {
  const words = phrase.toLowerCase().split(/\s+/).filter(Boolean);
  return tags
    .map((group, tag) => group.set('operations', group.get('operations').filter((operation) => words.every((word) => text(operation, tag).includes(word)))))
    .filter((group) => group.get('operations').size > 0);
};

// withoutKeys leaves the example of an idempotency key out, which would be filled in: the second call with another body would get 422.
const withoutKeys = (update) => (contract) => {
  delete contract.components?.parameters?.IdempotencyKey?.example;
  return update(contract);
};

const nothing = () => null;
const label = () => {
  const input = document.querySelector('.operation-filter-input');
  if (!input) return;
  input.placeholder = 'Search paths, fields, codes and descriptions';
  input.setAttribute('aria-label', input.placeholder);
};

SwaggerUIBundle({
  dom_id: '#reader',
  url: nexis ? '../nexis.yaml' : '../openapi.yaml',
  filter: true,
  deepLinking: true,
  tryItOutEnabled: true,
  supportedSubmitMethods: nexis ? [] : ['get', 'post', 'put', 'patch', 'delete'], // the control API has a listener of its own
  persistAuthorization: false,
  validatorUrl: null, // it would send the contract to another server
  displayRequestDuration: true,
  defaultModelsExpandDepth: -1,
  presets: [SwaggerUIBundle.presets.apis],
  plugins: [() => ({
    fn: {opsFilter: search},
    statePlugins: {spec: {wrapActions: {updateJsonSpec: withoutKeys}}},
    wrapComponents: {InfoContainer: () => nothing, ServersContainer: () => nothing}, // the manual has the introduction
  })],
  layout: 'BaseLayout',
  onComplete: label,
});

if (nexis) document.getElementById('note').textContent = 'To read only: this API has a listener of its own (DIRECTOR_REALTIME_CONTROL_ADDR).';
document.querySelector(`nav a[href="${nexis ? 'try?doc=nexis' : 'try'}"]`).setAttribute('aria-current', 'page');

// Links within descriptions lead to the manual.
document.addEventListener('click', (event) => {
  const link = event.target.closest('.markdown a, .renderedMarkdown a');
  const to = link?.getAttribute('href') ?? '';
  if (!to.startsWith('#')) return;
  event.preventDefault();
  location.href = `../docs${to}`;
}, true);
