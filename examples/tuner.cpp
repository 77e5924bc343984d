// A tuner of one's own: enumerates, compiles, times and proves schedules; two searches are plugged in.
//   example_tuner_cpp [SPEC [SECONDS_PER_MEASUREMENT]]
#include <algorithm>
#include <cstdio>
#include <functional>
#include <map>
#include <pooljit.hpp>
#include <random>
#include <string>
#include <vector>

using pooljit::Kernel, pooljit::Schedule;
using Measure =
    std::function<double(const Schedule&)>;  // time as a share of the default's; smaller is better
using Search = std::function<void(const std::vector<Schedule>&, const Measure&, std::mt19937&)>;

void random_search(const std::vector<Schedule>& space, const Measure& measure, std::mt19937& random) {
  for (int i = 0; i < 12; ++i) measure(space[random() % space.size()]);
}

// How many words of their texts two schedules share.
int likeness(const std::string& a, const std::string& b) {
  int same = 0;
  for (size_t begin = 0, end = 0; begin < a.size(); begin = end + 1) {
    end = std::min(a.find_first_of("( ,)", begin), a.size());
    if (end > begin) same += b.find(a.substr(begin, end - begin)) != std::string::npos;
  }
  return same;
}

// Keeps the best ones and tries those that are like them.
void evolutionary_search(const std::vector<Schedule>& space, const Measure& measure, std::mt19937& random) {
  std::vector<std::pair<double, size_t>> population;
  const auto add = [&](size_t i) { population.emplace_back(measure(space[i]), i); };
  for (size_t i = 0; i < std::min<size_t>(4, space.size()); ++i) add(i);  // the cheapest predictions
  for (int generation = 0; generation < 3; ++generation) {
    std::sort(population.begin(), population.end());
    population.resize(std::min<size_t>(2, population.size()));
    for (size_t parent = 0, parents = population.size(); parent < parents; ++parent) {
      size_t child = random() % space.size();
      for (int draw = 0; draw < 4; ++draw) {
        const size_t other = random() % space.size();
        const std::string& wanted = space[population[parent].second].text;
        if (likeness(space[other].text, wanted) > likeness(space[child].text, wanted)) child = other;
      }
      add(child);
    }
  }
}

int main(int argc, char** argv) try {
  const std::string spec = argc > 1 ? argv[1] : "max_pool2d(float32[1,16,28,28], kernel_size=3, stride=2)";
  const double seconds = argc > 2 ? std::stod(argv[2]) : 0.005;
  const std::vector<Schedule> space = pooljit::schedules(pooljit::Spec(spec), /*costs=*/true);
  const auto compile = [&](const std::string& schedule) {
    pooljit::Options options;
    options.schedule = schedule;
    options.threads = 1;
    return pooljit::compile(spec, options);
  };
  const Kernel standard = compile("");
  const std::map<std::string, Search> searches = {{"random", random_search},
                                                  {"evolutionary", evolutionary_search}};
  for (const auto& [name, search] : searches) {
    std::map<std::string, double> seen;  // by schedule
    const Measure measure = [&](const Schedule& candidate) {
      if (const auto old = seen.find(candidate.text); old != seen.end()) return old->second;
      const auto times = pooljit::time({standard, compile(candidate.text)}, seconds);  // in turns
      return seen[candidate.text] = times[1].median / times[0].median;
    };
    std::mt19937 random(1);
    search(space, measure, random);
    const auto less = [](const auto& a, const auto& b) { return a.second < b.second; };
    const auto best = std::min_element(seen.begin(), seen.end(), less);
    std::printf("%s: %zu of %zu schedules measured; %.2f of the default's time: %s\n", name.c_str(),
                seen.size(), space.size(), best->second, best->first.c_str());
    std::printf("%s", pooljit::prove(compile(best->first)).c_str());  // throws if it is not right
  }
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
