/**
 * Prepared scenes for a lecture. A step is a sentence, the query of a scene, and what to look at.
 *
 * {train}, {test} and {mistakes} in a sentence become the figures of the fit that is shown, so that no sentence can claim
 * what the plane does not show. `look`: the card that matters; `shared`: the slider
 * that all planes share; `play`: whether its steps run by themselves.
 */
import { pack } from "./playground-link.js";

const make = (generator, n, noise, seed) => [generator, n, noise, seed].join(",");

/** Two clouds, and one point of the left class far away on its own side. */
function clouds(far) {
  const around = [[0, 0], [0.3, 0.5], [-0.4, 0.4], [0.5, -0.3], [-0.3, -0.5], [0.1, 0.9], [-0.6, -0.1], [0.6, 0.2], [0.2, -0.8], [-0.1, 0.3], [0.4, -0.7], [-0.5, 0.8]];
  const points = [...around.map(([x, y]) => [x - 1, y, 0]), ...around.map(([x, y]) => [x + 1, y, 1])];
  return far ? [...points, [far[0], far[1], 1]] : points;
}
const own = (points, view) => ({ classes: JSON.stringify(["a", "b"]), names: JSON.stringify(["x1", "x2"]), points: pack(points), view: view.join(",") });
const beside = (...panes) => ({ beside: JSON.stringify(panes.map(([model, values = {}]) => ({ model, values, rule: "predict", standardise: false }))) });

const XOR = { make: make("xor", 120, 0.05, 0) };
const WIDE_VIEW = [-2.5, 9, -3.5, 7];
const MOONS = { make: make("moons", 200, 0.35, 2), test: "0.5" };
const OUTLIERS = { make: make("outliers", 120, 0.3, 1) };
const LINE = { make: make("separable", 40, 0.3, 4) };
const THREE = { make: make("blobs3", 90, 0.35, 1) };
const SLANTED = { make: make("gaussians", 300, 0.2, 3) };
const COSTS = { make: make("gaussians", 240, 0.9, 5) };

/** @type {{key: string, title: string, steps: {text: string, query: Record<string, string>, look?: "compare"|"lift"|"steps"|"test", shared?: string, lift?: string, play?: boolean}[]}[]} */
export const STORIES = [
  {
    key: "xor", title: "XOR defeats the line",
    steps: [
      { text: "Each class sits in two opposite corners. Logistic regression draws the best straight line it can, and {train} of the points are wrong.", query: { ...XOR, model: "logistic" } },
      { text: "The perceptron looks for a line that makes no mistake. There is none, so it never stops by itself: {mistakes} mistakes so far.", query: { ...XOR, model: "perceptron", "p.max_iter": "20" } },
      { text: "A polynomial kernel of degree 2 lets the boundary bend once: {train} wrong.", query: { ...XOR, model: "svm", "p.kernel": "poly", "p.degree": "2", "p.C": "10" } },
      { text: "Why: lifted by x², √2xy and y², the two classes lie on two sides of a flat plane.", query: { ...XOR, model: "svm", "p.kernel": "poly", "p.degree": "2", "p.C": "10" }, look: "lift", lift: "squares" },
      { text: "A Gaussian kernel needs no guess of the degree: {train} wrong.", query: { ...XOR, model: "svm", "p.kernel": "rbf", "p.gamma": "1", "p.C": "10" } },
    ],
  },
  {
    key: "outlier", title: "An outlier pulls least squares, but not the SVM",
    steps: [
      { text: "Two clouds, and the line of least squares between them: {train} wrong.", query: { ...own(clouds(null), WIDE_VIEW), model: "least-squares", "p.find": "given", "p.ridge": "0.000001" } },
      { text: "One point of class b far away, on its own side and not in doubt. Least squares wants its score to be 1, not 10, and turns the line: {train} wrong.", query: { ...own(clouds([8, 6]), WIDE_VIEW), model: "least-squares", "p.find": "given", "p.ridge": "0.000001" } },
      { text: "The SVM does not care how far a point is beyond its margin: the far point is no support vector, and {train} are wrong.", query: { ...own(clouds([8, 6]), WIDE_VIEW), model: "svm", "p.kernel": "linear", "p.C": "10" } },
      { text: "Side by side: the far point pulls one line, and the others hardly notice it. Drag it on the plane of the page, and only least squares follows.", query: { ...own(clouds([8, 6]), WIDE_VIEW), model: "least-squares", "p.find": "given", "p.ridge": "0.000001", ...beside(["svm", { kernel: "linear", C: 10 }], ["logistic", {}]) }, look: "compare" },
    ],
  },
  {
    key: "gamma", title: "Gamma overfits",
    steps: [
      { text: "Half of the points are held out (hollow). With a small gamma the boundary is nearly straight: {train} wrong in training, {test} in test.", query: { ...MOONS, model: "svm", "p.gamma": "0.02" } },
      { text: "Gamma 1: the boundary bends with the moons. {train} in training, {test} in test.", query: { ...MOONS, model: "svm", "p.gamma": "1" } },
      { text: "Gamma 10: it begins to bend around single points. {train} in training, {test} in test.", query: { ...MOONS, model: "svm", "p.gamma": "10" } },
      { text: "Gamma 100: every training point has an island of its own. {train} in training, {test} in test: it has learned the points, not the moons.", query: { ...MOONS, model: "svm", "p.gamma": "100" } },
      { text: "The strip shows both errors against gamma. Drag the slider: to the right the training error goes down and down, the test error down and up again.", query: { ...MOONS, model: "svm", "p.gamma": "1" }, look: "test" },
    ],
  },
  {
    key: "c", title: "C trades the margin against mistakes",
    steps: [
      { text: "C is the price of a point inside the margin. At 0.01 it is cheap: a wide margin, many support vectors, {train} wrong.", query: { ...OUTLIERS, model: "svm", "p.kernel": "linear", "p.C": "0.01" } },
      { text: "C = 1: a narrower margin, fewer support vectors, {train} wrong.", query: { ...OUTLIERS, model: "svm", "p.kernel": "linear", "p.C": "1" } },
      { text: "With a Gaussian kernel and C = 1 the flipped labels are still taken for noise: {train} wrong.", query: { ...OUTLIERS, model: "svm", "p.kernel": "rbf", "p.gamma": "2", "p.C": "1" } },
      { text: "C = 1000: every mistake is dear, and the boundary makes islands for the flipped labels: {train} wrong.", query: { ...OUTLIERS, model: "svm", "p.kernel": "rbf", "p.gamma": "2", "p.C": "1000" } },
      { text: "Three kernels with one slider for C: drag it and watch all margins.", query: { ...OUTLIERS, model: "svm", "p.kernel": "rbf", "p.gamma": "2", "p.C": "1", ...beside(["svm", { kernel: "linear", C: 1 }], ["svm", { kernel: "poly", degree: 3, C: 1 }]) }, look: "compare" },
    ],
  },
  {
    key: "perceptron", title: "The perceptron's mistakes are bounded",
    steps: [
      { text: "A line separates these classes with a margin. Watch the perceptron: each mistake adds or subtracts a point.", query: { ...LINE, model: "perceptron", step: "0" }, look: "steps", play: true },
      { text: "It has stopped: a pass without a mistake, after {mistakes} mistakes. Novikoff's bound (R/γ)² under the slider holds for any order of the points.", query: { ...LINE, model: "perceptron", step: "2000" }, look: "steps" },
      { text: "Another order of the same points: other mistakes ({mistakes}), below a bound again.", query: { ...LINE, model: "perceptron", "p.shuffle": "1", step: "2000" }, look: "steps" },
      { text: "Where no line separates the classes there is no margin and no bound: {mistakes} mistakes in 20 passes, and it would go on.", query: { make: make("gaussians", 60, 0.6, 4), model: "perceptron", "p.max_iter": "20" } },
    ],
  },
  {
    key: "ties", title: "Ties and regions without a class",
    steps: [
      { text: "Three classes, and one linear score for each: the largest wins everywhere. {train} wrong.", query: { ...THREE, model: "linear-svm" } },
      { text: "Each class against the rest, by yes and no alone: where two say yes, or none does, there is no class (hatched).", query: { ...THREE, model: "linear-svm", rule: "each" } },
      { text: "Each but the last against the rest: fewer boundaries, and other places without a class.", query: { ...THREE, model: "linear-svm", rule: "rest" } },
      { text: "A majority over all pairs: only where three pairs contradict each other is there a tie.", query: { ...THREE, model: "linear-svm", rule: "pairs" } },
    ],
  },
  {
    key: "bayes", title: "Naive Bayes and correlated features",
    steps: [
      { text: "Two features that rise together. Naive Bayes takes them for independent: its ellipses stand upright, and {train} are wrong.", query: { ...SLANTED, model: "gaussian-nb" } },
      { text: "Linear discriminant analysis learns one covariance: slanted ellipses, a line along them, {train} wrong.", query: { ...SLANTED, model: "lda" } },
      { text: "Side by side with quadratic discriminant analysis, which gives each class its own covariance.", query: { ...SLANTED, model: "gaussian-nb", ...beside(["lda"], ["qda"]) }, look: "compare" },
    ],
  },
  {
    key: "costs", title: "Costs move the boundary",
    steps: [
      { text: "Two overlapping classes and equal costs: {train} wrong, about as many on either side.", query: { ...COSTS, model: "logistic" } },
      { text: "A mistake on class b costs 5: the boundary moves away from b. More points are wrong ({train}), but the dear mistakes are fewer.", query: { ...COSTS, model: "logistic", "p.cost": "5" } },
      { text: "Now a mistake on b costs a fifth, and the boundary moves the other way: {train} wrong.", query: { ...COSTS, model: "logistic", "p.cost": "0.2" } },
      { text: "The same cost moves other models in the same direction. Drag the shared slider.", query: { ...COSTS, model: "logistic", "p.cost": "5", ...beside(["svm", { kernel: "linear", cost: 5 }], ["svm", { kernel: "rbf", gamma: 0.5, cost: 5 }]) }, look: "compare", shared: "cost" },
    ],
  },
];
